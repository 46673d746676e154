package security

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// served is a port with a service behind it, on the loopback.
type served struct {
	t       *testing.T
	address string
	// ca signed the server and its clients.
	ca     authority
	folder folder
	files  Files
}

func serve(t *testing.T, names ...string) served {
	t.Helper()
	s := served{t: t, ca: newAuthority(t, "ours"), folder: folder{t, t.TempDir()}}
	cert, key := s.ca.issue("provider")
	s.files = Files{
		Cert: s.folder.write("tls.crt", cert), Key: s.folder.write("tls.key", key),
		ClientCA: s.folder.write("ca.crt", inPEM(s.ca.cert)), ClientNames: names,
	}
	port, err := New(s.files, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	watched := make(chan error, 1)
	go func() { watched <- port.Start(ctx) }()
	s.address = listen(t, port)
	t.Cleanup(func() {
		stop()
		if err := <-watched; err != nil {
			t.Error(err)
		}
	})
	return s
}

func listen(t *testing.T, port *Port) string {
	t.Helper()
	server := grpc.NewServer(grpc.Creds(port.Credentials()))
	healthpb.RegisterHealthServer(server, health.NewServer())
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// call makes one call on a connection of its own.
func call(t *testing.T, address string, with credentials.TransportCredentials) error {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(with))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	return err
}

func showing(trust authority, pair *tls.Certificate) credentials.TransportCredentials {
	config := &tls.Config{RootCAs: trust.pool()}
	if pair != nil {
		config.Certificates = []tls.Certificate{*pair}
	}
	return credentials.NewTLS(config)
}

func TestWhoMayCall(t *testing.T) {
	s, stranger := serve(t, "cluster-autoscaler", "ca.home.svc"), newAuthority(t, "theirs")
	for name, test := range map[string]struct {
		with credentials.TransportCredentials
		may  bool
	}{
		"a client by its common name":               {showing(s.ca, s.ca.pair("cluster-autoscaler")), true},
		"a client by a DNS name":                    {showing(s.ca, s.ca.pair("", "other", "ca.home.svc")), true},
		"another client of our authority":           {showing(s.ca, s.ca.pair("curious", "curious.home.svc")), false},
		"a client without a name":                   {showing(s.ca, s.ca.pair("")), false},
		"the right name from another authority":     {showing(s.ca, stranger.pair("cluster-autoscaler")), false},
		"no certificate":                            {showing(s.ca, nil), false},
		"plaintext":                                 {insecure.NewCredentials(), false},
		"a client that does not trust this server":  {showing(stranger, s.ca.pair("cluster-autoscaler")), false},
		"a client that speaks an older TLS at most": {older(s.ca, s.ca.pair("cluster-autoscaler")), false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(t, s.address, test.with); (err == nil) != test.may {
				t.Errorf("may call = %t, but the call ends with %v", test.may, err)
			}
		})
	}
}

func older(trust authority, pair *tls.Certificate) credentials.TransportCredentials {
	return credentials.NewTLS(&tls.Config{RootCAs: trust.pool(), Certificates: []tls.Certificate{*pair}, MaxVersion: tls.VersionTLS12})
}

func TestOnlyHTTP2IsSpoken(t *testing.T) {
	s := serve(t)
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: s.ca.pool(), Certificates: []tls.Certificate{*s.ca.pair("x")}, NextProtos: []string{"http/1.1"}}}
	conn, err := dialer.DialContext(t.Context(), "tcp", s.address)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	// TLS itself lets a client of the older protocol in without agreeing on any; gRPC hangs up on it.
	if n, err := conn.Read(make([]byte, 1)); err == nil || n > 0 {
		t.Error("a connection that agreed on no HTTP/2 is served")
	}
}

func TestAnyClientMayCallWhereNoAuthorityIsGiven(t *testing.T) {
	s := serve(t)
	port, err := New(Files{Cert: s.files.Cert, Key: s.files.Key}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	if err := call(t, listen(t, port), showing(s.ca, nil)); err != nil {
		t.Error(err)
	}
}

func TestANewCertificateNeedsNoRestart(t *testing.T) {
	s := serve(t)
	mine := s.ca.pair("client")
	second := newAuthority(t, "second")
	cert, key := second.issue("provider")
	s.folder.write("tls.key", key)
	s.folder.write("tls.crt", cert)
	eventually(t, "the new certificate is shown", func() bool { return call(t, s.address, showing(second, mine)) == nil })
	s.folder.write("tls.key", []byte("half written"))
	if err := call(t, s.address, showing(second, mine)); err != nil {
		t.Errorf("a key that cannot be read takes the old certificate away: %v", err)
	}
}

func TestNewAuthoritiesNeedNoRestart(t *testing.T) {
	s := serve(t)
	second := newAuthority(t, "second")
	old, young := showing(s.ca, s.ca.pair("client")), showing(s.ca, second.pair("client"))
	for _, step := range []struct {
		name             string
		text             []byte
		oldMay, youngMay bool
	}{
		{"both while clients move", append(inPEM(s.ca.cert), inPEM(second.cert)...), true, true},
		{"then the second alone", inPEM(second.cert), false, true},
		{"a file that cannot be read changes nothing", []byte("half written"), false, true},
		{"and back", inPEM(s.ca.cert), true, false},
	} {
		s.folder.write("ca.crt", step.text)
		if err := call(t, s.address, old); (err == nil) != step.oldMay {
			t.Errorf("%s: the old client may call = %t, but %v", step.name, step.oldMay, err)
		}
		if err := call(t, s.address, young); (err == nil) != step.youngMay {
			t.Errorf("%s: the new client may call = %t, but %v", step.name, step.youngMay, err)
		}
	}
}

func TestARefusedConnectionIsSaidInTheLog(t *testing.T) {
	s, lines := serve(t), make(chan string, 16)
	port, err := New(s.files, funcr.New(func(_, line string) { lines <- line }, funcr.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	address := listen(t, port)
	if err := call(t, address, showing(s.ca, nil)); err == nil {
		t.Fatal("a client without a certificate may call")
	}
	if line := <-lines; !strings.Contains(line, "refused a connection") || !strings.Contains(line, "client didn't provide a certificate") {
		t.Errorf("the log says %s", line)
	}
}

func TestABadFileIsToldAtTheStart(t *testing.T) {
	ca := newAuthority(t, "ours")
	cert, key := ca.issue("provider")
	_, other := ca.issue("provider")
	f := folder{t, t.TempDir()}
	good := Files{Cert: f.write("tls.crt", cert), Key: f.write("tls.key", key), ClientCA: f.write("ca.crt", inPEM(ca.cert))}
	junk := f.write("junk", []byte("no PEM"))
	const ours, theirs = "reading the certificate of the provider's port (", "reading the authorities of the provider's clients: "
	for name, test := range map[string]struct {
		edit func(*Files)
		want string
	}{
		"no certificate":               {func(f *Files) { f.Cert = "/nowhere/c" }, ours + "/nowhere/c, DIR/tls.key): open /nowhere/c: no such file or directory"},
		"no key":                       {func(f *Files) { f.Key = "/nowhere/k" }, ours + "DIR/tls.crt, /nowhere/k): open /nowhere/k: no such file or directory"},
		"a certificate that is none":   {func(f *Files) { f.Cert = junk }, ours + "DIR/junk, DIR/tls.key): tls: failed to find any PEM data in certificate input"},
		"a key of another certificate": {func(x *Files) { x.Key = f.write("other", other) }, ours + "DIR/tls.crt, DIR/other): tls: private key does not match public key"},
		"no authorities":               {func(f *Files) { f.ClientCA = "/nowhere/a" }, theirs + "open /nowhere/a: no such file or directory"},
		"authorities that are none":    {func(f *Files) { f.ClientCA = junk }, theirs + "DIR/junk holds no certificate in PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			files := good
			test.edit(&files)
			_, err := New(files, logr.Discard())
			if err == nil {
				t.Fatal("no error")
			}
			if got := strings.ReplaceAll(err.Error(), f.path, "DIR"); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestNamesAreComparedWhole(t *testing.T) {
	port := &Port{files: Files{ClientNames: []string{"ca.home.svc"}}}
	state := tls.ConnectionState{PeerCertificates: []*x509.Certificate{{DNSNames: []string{"x.ca.home.svc", "ca.home.svc.evil"}}}}
	if port.allowed(state) == nil {
		t.Error("a part of a name was taken for the name")
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("it never happens that %s", what)
		}
	}
}
