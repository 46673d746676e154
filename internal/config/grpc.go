package config

import (
	"errors"
	"flag"
)

// GRPC says how the provider's port is secured. Whoever may call it can switch machines on and off, so that plaintext has
// to be asked for.
type GRPC struct {
	// Insecure serves plaintext to anybody who reaches the port.
	Insecure bool
	// CertFile and KeyFile are the server's certificate with its chain, and its key, in PEM.
	CertFile, KeyFile string
	// ClientCAFile holds the authorities of which one must have signed a client's certificate; empty: any client may call.
	ClientCAFile string
	// AllowedClientNames are the names, common or DNS, of which a client's certificate must carry one; empty: any name.
	AllowedClientNames []string
}

func (g *GRPC) flags(flags *flag.FlagSet) {
	flags.BoolVar(&g.Insecure, "grpc-insecure", false, "serve the provider in plaintext: whoever reaches the port can switch machines")
	flags.StringVar(&g.CertFile, "grpc-cert-file", "", "`file` with the provider's certificate and its chain, in PEM; read again when it changes")
	flags.StringVar(&g.KeyFile, "grpc-key-file", "", "`file` with the key of --grpc-cert-file, in PEM; read again when it changes")
	flags.StringVar(&g.ClientCAFile, "grpc-client-ca-file", "",
		"`file` with the authorities that sign clients' certificates, in PEM; read again when it changes; without it any client may call")
	flags.Func("grpc-allowed-client-names",
		"comma-separated `names`, common or DNS, of which a client's certificate must carry one; without it any that the authorities signed",
		func(list string) error {
			g.AllowedClientNames = split(list)
			return nil
		})
}

// Validate says what is wrong, in the words of the command line.
func (g GRPC) Validate() error {
	secured := g.CertFile != "" || g.KeyFile != "" || g.ClientCAFile != "" || len(g.AllowedClientNames) > 0
	switch {
	case g.Insecure && secured:
		return errors.New("--grpc-insecure contradicts the certificates of --grpc-cert-file and the other --grpc flags: pass one or the other")
	case g.Insecure:
		return nil
	case !secured:
		return errors.New("no certificate for the provider's port: pass --grpc-cert-file and --grpc-key-file, or --grpc-insecure to serve plaintext")
	case g.CertFile == "" || g.KeyFile == "":
		return errors.New("--grpc-cert-file and --grpc-key-file go together: pass both")
	case g.ClientCAFile == "" && len(g.AllowedClientNames) > 0:
		return errors.New("--grpc-allowed-client-names needs --grpc-client-ca-file: without an authority anybody can take any name")
	}
	return nil
}
