// Lifecycle URL   an account from its registration to its deletion, through the client that openapi-generator makes of
// docs/openapi/app.json.

import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.AccountApi;
import org.openapitools.client.api.SessionsApi;
import org.openapitools.client.api.SignInApi;
import org.openapitools.client.model.AuthResponse;
import org.openapitools.client.model.LoginRequest;
import org.openapitools.client.model.ProblemDocument;
import org.openapitools.client.model.ReauthenticateRequest;
import org.openapitools.client.model.RefreshRequest;
import org.openapitools.client.model.RegisterRequest;
import org.openapitools.client.model.Session;
import org.openapitools.client.model.SessionDevice;

final class Lifecycle {
    private static final String PASSWORD = "correct horse battery staple";
    private final ApiClient client = new ApiClient();
    private final SignInApi signIn;
    private final SessionsApi sessions;
    private final AccountApi account;
    private AuthResponse session;

    private Lifecycle(String url) {
        // The classes of routes copy the address and the interceptor: set both first.
        client.updateBaseUri(url);
        // The interceptor reads the session at each request, so that a new access token is used at once.
        client.setRequestInterceptor(request -> {
            if (session != null) request.setHeader("Authorization", "Bearer " + session.getAccessToken());
        });
        signIn = new SignInApi(client);
        sessions = new SessionsApi(client);
        account = new AccountApi(client);
    }

    private interface Call {
        void run() throws ApiException;
    }

    private ProblemDocument problem(Call call) throws Exception {
        try {
            call.run();
        } catch (ApiException refusal) {
            return client.getObjectMapper().readValue(refusal.getResponseBody(), ProblemDocument.class);
        }
        throw new AssertionError("the request should have been refused");
    }

    private static void expect(boolean condition, Object seen) {
        if (!condition) throw new AssertionError(String.valueOf(seen));
    }

    private void refresh() throws ApiException {
        AuthResponse old = session;
        session = signIn.refresh(new RefreshRequest().refreshToken(old.getRefreshToken()));
        expect(!session.getRefreshToken().equals(old.getRefreshToken()), "the refresh token is the same");
        expect(session.getUser().getId().equals(old.getUser().getId()), session.getUser());
    }

    private void run() throws Exception {
        String identifier = "java-" + System.nanoTime() + "@example.com";
        LoginRequest login = new LoginRequest().identifier(identifier).password(PASSWORD);
        signIn.register(new RegisterRequest().identifier(identifier).password(PASSWORD).displayName("Ada"));
        session = signIn.signIn(login.device(new SessionDevice().name("Java")));
        expect(identifier.equals(session.getUser().getEmail()), session.getUser());
        refresh();

        var listed = sessions.listSessions().getSessions();
        var current = listed.stream().filter(Session::getCurrent).toList();
        expect(listed.size() == 2 && current.size() == 1, listed);
        expect("Java".equals(current.get(0).getDevice().getName()), current);

        ProblemDocument invalid = problem(() -> signIn.register(new RegisterRequest().identifier("invalid").password("x")));
        expect(invalid.getCode().equals("INVALID_REQUEST") && invalid.getStatus() == 400, invalid);
        expect(invalid.getErrors().get(0).getField().equals("identifier"), invalid);

        account.reauthenticate(new ReauthenticateRequest().password(PASSWORD));
        refresh();
        account.deleteAccount();
        ProblemDocument ended = problem(this::refresh);
        expect(ended.getCode().equals("INVALID_REFRESH_TOKEN") && ended.getStatus() == 401, ended);
        ProblemDocument unknown = problem(() -> signIn.signIn(login));
        expect(unknown.getCode().equals("INVALID_CREDENTIALS"), unknown);
        System.out.println("Java: registered, signed in, refreshed, listed sessions, read problems, deleted the account");
    }

    public static void main(String[] arguments) throws Exception {
        new Lifecycle(arguments[0]).run();
    }
}
