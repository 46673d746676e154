package web

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"homecluster.dev/autoscaler/internal/power"
)

// says answers every request on a connection of its own with these bytes, and hangs up.
func says(t testing.TB, answer []byte) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if request, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.Copy(io.Discard, request.Body)
				_, _ = conn.Write(answer)
			}
			_ = conn.Close()
		}
	}()
	return "http://" + listener.Addr().String()
}

func client(t testing.TB, secrets ...string) *Client {
	t.Helper()
	c, err := New(Options{Timeout: time.Second, Secrets: secrets})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A switch may say back what it was sent: in a redirect to https, in a page about what it does not know, in a broken answer.
func TestASecretThatIsSaidBackIsNotShown(t *testing.T) {
	const password = `p&ss"wort"/1`
	for name, answer := range map[string]string{
		"in a redirect":              "HTTP/1.1 301 Moved\r\nLocation: https://plug.lan/cm?password=p%26ss%22wort%22%2F1\r\n\r\n",
		"in a path":                  "HTTP/1.1 302 Found\r\nLocation: /p&ss%22wort%22%2F1/\r\n\r\n",
		"in a page":                  "HTTP/1.1 404 Not Found\r\n\r\nno such page: " + password,
		"in JSON":                    "HTTP/1.1 400 Bad Request\r\n\r\n" + `{"got":"p\u0026ss\"wort\"/1"}`,
		"in a status":                "HTTP/1.1 500 not " + password + "\r\n\r\n",
		"in a header said back":      "HTTP/1.1 400 Bad Request\r\n\r\nAuthorization: Basic YWRtaW46cCZzcyJ3b3J0Ii8x",
		"in what is no answer":       password + "\r\n\r\n",
		"where the excerpt is cut":   "HTTP/1.1 400 Bad Request\r\n\r\n" + strings.Repeat("x", maxExcerpt-3) + password,
		"in the name of an encoding": "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + password + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			at := says(t, []byte(answer))
			_, err := client(t, "admin:"+password, password).Do(t.Context(), Request{Method: http.MethodGet, URL: at, Name: "/cm"})
			if err == nil {
				t.Fatal("it is taken")
			}
			for _, part := range []string{"p&s", "p%26", `p\u0026`, "wort", "YWRtaW46"} {
				if strings.Contains(err.Error(), part) {
					t.Errorf("the error has %q: %v", part, err)
				}
			}
		})
	}
	if said := client(t, "on").Clean("on"); said != "on" {
		t.Errorf("a secret that is found in every message leaves %q", said)
	}
}

func TestWhatIsShownIsOneShortLine(t *testing.T) {
	for given, want := range map[string]string{
		" two\r\nlines\t": "two lines", "\x1b[2Jred\x07": "[2Jred", "": "", "\u202eright to left": "right to left",
		strings.Repeat("é", 200): strings.Repeat("é", maxExcerpt) + "…",
	} {
		if got := Clean(given); got != want {
			t.Errorf("%q became %q, want %q", given, got, want)
		}
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		want   error
	}{
		"nothing":              {"", power.ErrUnreachable},
		"a status of nothing":  {"HTTP/1.1 000\r\n\r\n", power.ErrRefused},
		"another protocol":     {"220 plug.lan ESMTP\r\n", power.ErrGarbled},
		"a header without end": {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 70<<10), power.ErrGarbled},
		"a body cut short":     {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\non", power.ErrGarbled},
		"chunks that are none": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", power.ErrGarbled},
		"a body without end":   {"HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", maxAnswer+2), power.ErrGarbled},
	} {
		at := says(t, []byte(tt.answer))
		if _, err := client(t).Do(t.Context(), Request{Method: http.MethodGet, URL: at}); !errors.Is(err, tt.want) || len(err.Error()) > 300 {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

// A gateway before a switch that is away is one that may be asked again; what it handed on may have been done.
func TestAGatewayDoesNotKnow(t *testing.T) {
	at := says(t, []byte("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"))
	for presses, want := range map[bool]error{false: power.ErrUnreachable, true: power.ErrUnanswered} {
		if _, err := client(t).Do(t.Context(), Request{Method: http.MethodGet, URL: at, Presses: presses}); !errors.Is(err, want) {
			t.Errorf("presses: %t: %v, want %v", presses, err, want)
		}
	}
}

// The password goes to the switch and nowhere else: neither where it redirects to, nor through a proxy of the environment's.
func TestThePasswordGoesNowhereElse(t *testing.T) {
	asked := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer elsewhere.Close()
	t.Setenv("HTTP_PROXY", elsewhere.URL)
	t.Setenv("HTTPS_PROXY", elsewhere.URL)
	at := says(t, []byte("HTTP/1.1 307 Temporary Redirect\r\nLocation: "+elsewhere.URL+"\r\nContent-Length: 0\r\n\r\n"))
	for _, r := range []Request{
		{Method: http.MethodGet, URL: at, Username: "admin", Password: "hunter2"},
		{Method: http.MethodPost, URL: at, Body: "{}", Username: "admin", Password: "hunter2"},
		{Method: http.MethodGet, URL: "http://plug.invalid/", Username: "admin", Password: "hunter2"}, // what is on loopback no proxy is asked for
	} {
		if _, err := client(t).Do(t.Context(), r); err == nil {
			t.Errorf("%s %s is taken", r.Method, r.URL)
		}
	}
	transport, plain := client(t).http.Transport.(*http.Transport)
	if !plain || transport.Proxy != nil {
		t.Error("a proxy may be asked") // the environment is read once in a process, and may have been before
	}
	if asked > 0 {
		t.Errorf("somebody else was asked %d times", asked)
	}
}

// A switch that speaks no newer TLS than 1.1 is not spoken to.
func TestOldTLSIsNotSpoken(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	c, err := New(Options{Timeout: time.Second, Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(t.Context(), Request{Method: http.MethodGet, URL: server.URL}); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("the error is %v", err)
	}
}

// piped is a client all of whose connections are answered with these bytes, without a network: a fuzzer would use up its ports.
func piped(t testing.TB, answer []byte) *Client {
	t.Helper()
	c := client(t)
	transport, plain := c.http.Transport.(*http.Transport)
	if !plain {
		t.Fatalf("the transport is a %T", c.http.Transport)
	}
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer func() { _ = there.Close() }()
			if request, err := http.ReadRequest(bufio.NewReader(there)); err == nil {
				_, _ = io.Copy(io.Discard, request.Body)
				_, _ = there.Write(answer)
			}
		}()
		return here, nil
	}
	return c
}

// Whatever bytes come in place of an answer: an answer of bounded size, or a fault in one short line, and no crash.
func FuzzWire(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n{}"), false)
	f.Add([]byte("HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n"), true)
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Later\r\nRetry-After: x\r\n\r\n"), true)
	f.Add([]byte("HTTP/1.0 302 Found\r\nLocation: \x00\r\n\r\n"), false)
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"), false)
	f.Add([]byte("HTTP/2.0 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"), false)
	f.Add([]byte("HTTP/1.1 401 No\r\nWWW-Authenticate: Digest qop=\"auth\", nonce=\"\\\"\x01\", realm=\r\n\r\n"), true)
	f.Add([]byte("\xff\xfe"), true)
	f.Fuzz(func(t *testing.T, answer []byte, presses bool) {
		got, err := piped(t, answer).Do(t.Context(), Request{Method: http.MethodGet, URL: "http://plug.lan/", Name: "/", Presses: presses, Username: "admin", Password: "hunter2"})
		if len(got.Body) > maxAnswer+1 {
			t.Errorf("%d bytes were read", len(got.Body))
		}
		if err == nil {
			if got.Status < 200 || got.Status > 299 {
				t.Errorf("status %d is a success", got.Status)
			}
			return
		}
		text := err.Error()
		if !known(err) || utf8.RuneCountInString(text) > 500 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("the error is %q", text)
		}
	})
}

func known(err error) bool {
	for _, fault := range []error{
		power.ErrUnreachable, power.ErrUnanswered, power.ErrCredentials, power.ErrBusy, power.ErrRefused, power.ErrGarbled, power.ErrUnsupported,
	} {
		if errors.Is(err, fault) {
			return true
		}
	}
	return false
}
