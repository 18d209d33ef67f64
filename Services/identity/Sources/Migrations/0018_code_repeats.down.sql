DROP TABLE code_repeats;
