package web

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// digest answers the Digest challenge of a reply of status 401 (RFC 7616), which plugs use that have no TLS: Shelly's, for
// one, from their second generation. It is empty if there is none that is understood.
func (came reply) digest(r Request) string {
	if came.code != http.StatusUnauthorized || r.Username == "" && r.Password == "" {
		return ""
	}
	at, err := url.Parse(r.URL)
	if err != nil {
		return ""
	}
	for _, challenge := range came.header.Values("WWW-Authenticate") {
		scheme, rest, _ := strings.Cut(challenge, " ")
		if !strings.EqualFold(scheme, "Digest") {
			continue
		}
		if answer := respond(parameters(rest), r, at.RequestURI(), rand.Text()); answer != "" {
			return answer
		}
	}
	return ""
}

// respond makes the Authorization header.
func respond(p map[string]string, r Request, uri, cnonce string) string {
	algorithm := p["algorithm"]
	var sum func() hash.Hash
	switch strings.ToUpper(algorithm) {
	case "SHA-256":
		sum = sha256.New
	case "", "MD5":
		sum = md5.New
	default:
		return ""
	}
	if p["nonce"] == "" || !slices.Contains(strings.FieldsFunc(p["qop"], func(r rune) bool { return r == ',' || r == ' ' }), "auth") {
		return ""
	}
	h := func(parts ...string) string {
		s := sum()
		_, _ = s.Write([]byte(strings.Join(parts, ":"))) // a hash never fails
		return hex.EncodeToString(s.Sum(nil))
	}
	const count = "00000001"
	response := h(h(r.Username, p["realm"], r.Password), p["nonce"], count, cnonce, "auth", h(r.Method, uri))
	answer := fmt.Sprintf(`Digest username=%s, realm=%s, nonce=%s, uri=%s, qop=auth, nc=%s, cnonce=%s, response="%s"`,
		quoted(r.Username), quoted(p["realm"]), quoted(p["nonce"]), quoted(uri), count, quoted(cnonce), response)
	if algorithm != "" {
		answer += ", algorithm=" + strings.ToUpper(algorithm)
	}
	if opaque, given := p["opaque"]; given {
		answer += ", opaque=" + quoted(opaque)
	}
	return answer
}

// quoted is a quoted-string of HTTP. A control character, which no header may have, is left out.
func quoted(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// parameters takes apart name=value and name="value", parted by commas. Names are in lower case.
func parameters(text string) map[string]string {
	found := map[string]string{}
	for text != "" {
		name, rest, ok := strings.Cut(strings.TrimLeft(text, ", \t"), "=")
		if !ok {
			break
		}
		var value string
		value, text = oneValue(strings.TrimLeft(rest, " \t"))
		found[strings.ToLower(strings.TrimSpace(name))] = value
	}
	return found
}

// oneValue reads one value and returns what is behind it.
func oneValue(text string) (value, rest string) {
	if !strings.HasPrefix(text, `"`) {
		value, rest, _ = strings.Cut(text, ",")
		return strings.TrimSpace(value), rest
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '"':
			return b.String(), text[i+1:]
		case text[i] == '\\' && i+1 < len(text):
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String(), ""
}
