DROP TABLE apple_mail_forwarding;
