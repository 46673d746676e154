package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The example of RFC 7616, section 3.9.1.
func TestTheExampleOfTheStandard(t *testing.T) {
	challenge := `realm="http-auth@example.org", qop="auth, auth-int", algorithm=%s, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", ` +
		`opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`
	r := Request{Method: "GET", Username: "Mufasa", Password: "Circle of Life"}
	for algorithm, want := range map[string]string{
		"MD5": "8ca523f5e9506fed4657c9700eebdbec", "SHA-256": "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
	} {
		p := parameters(strings.ReplaceAll(challenge, "%s", algorithm))
		got := parameters(strings.TrimPrefix(respond(p, r, "/dir/index.html", "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"), "Digest "))
		if got["response"] != want || got["algorithm"] != algorithm || got["opaque"] != p["opaque"] {
			t.Errorf("%s: %v, want %s", algorithm, got, want)
		}
	}
}

func TestChallengesThatAreNotAnswered(t *testing.T) {
	for name, challenge := range map[string]string{
		"none": "", "basic": `Basic realm="plug"`, "a digest nobody has": `Digest qop="auth", nonce="1", algorithm=SHA-512-256`,
		"without a nonce": `Digest qop="auth", realm="plug"`, "of the body too": `Digest qop="auth-int", nonce="1"`, "half of one": `Digest nonce="1`,
	} {
		came := reply{code: http.StatusUnauthorized, header: http.Header{"Www-Authenticate": {challenge}}}
		if got := came.digest(Request{URL: "http://plug.lan/", Username: "admin"}); got != "" {
			t.Errorf("%s: answered with %s", name, got)
		}
	}
	if got := parameters(`realm="a \"b\", c", stale=TRUE , NONCE = "n"`); cmp.Diff(map[string]string{"realm": `a "b", c`, "stale": "TRUE", "nonce": "n"}, got) != "" {
		t.Errorf("the parameters are %q", got)
	}
}

// guarded is a plug that wants a digest. It counts what it let through.
type guarded struct{ sent, done []string }

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	g.sent = append(g.sent, scheme)
	p := parameters(rest)
	sent := Request{Method: r.Method, Username: "admin", Password: "secret"}
	right := respond(map[string]string{"qop": "auth", "realm": "plug", "nonce": "n1", "algorithm": "SHA-256"}, sent, r.URL.RequestURI(), p["cnonce"])
	if scheme != "Digest" || parameters(strings.TrimPrefix(right, "Digest "))["response"] != p["response"] {
		w.Header().Set("WWW-Authenticate", `Digest qop="auth", realm="plug", nonce="n1", algorithm=SHA-256`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	body, _ := io.ReadAll(r.Body)
	g.done = append(g.done, string(body))
}

// What was turned away for want of a digest was not done, so that it is sent again, with one. The password itself is shown
// to the plug once at most; a wrong one is tried once.
func TestAPlugThatWantsADigestGetsOne(t *testing.T) {
	g := &guarded{}
	server := httptest.NewServer(g)
	defer server.Close()
	c := client(t)
	press := Request{Method: http.MethodPost, URL: server.URL + "/rpc?id=0", Body: "on", Username: "admin", Password: "secret", Presses: true}
	for range 2 {
		if _, err := c.Do(t.Context(), press); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"Basic", "Digest", "", "Digest"}, g.sent); diff != "" {
		t.Errorf("it was sent (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"on", "on"}, g.done); diff != "" {
		t.Errorf("it did (-want +got):\n%s", diff)
	}
	g.sent, press.Password = nil, "guess"
	if _, err := c.Do(t.Context(), press); err == nil || len(g.sent) != 2 {
		t.Errorf("a wrong password: %v, sent %q", err, g.sent)
	}
}
