package web

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// maxExcerpt bounds what of an answer is shown to people.
const maxExcerpt = 160

// Clean makes one short printable line of what a switch said.
func Clean(text string) string { return Line(text, maxExcerpt) }

// Line makes one printable line of at most limit characters of a text from anywhere: what a switch says ends up in logs and
// events, where it must neither move a cursor nor fill a page.
func Line(text string, limit int) string {
	line := strings.Join(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }), " ")
	if runes := []rune(line); len(runes) > limit {
		line = string(runes[:limit]) + "…"
	}
	return line
}

// Cleaner is the function Clean, with the secrets left out before the line is cut.
func Cleaner(secrets ...string) func(text string) string {
	hide := hider(secrets)
	return func(text string) string { return Clean(hide.Replace(text)) }
}

// Clean is the function Clean, with the secrets left out.
func (c *Client) Clean(text string) string { return c.clean(text) }

// leastSecret is the length from which a secret is left out. A shorter one is guessed in a moment, and would be found in
// the words of most messages.
const leastSecret = 4

// inner is a quoted text without its quotes.
func inner(quoted string) string { return strings.TrimSuffix(strings.TrimPrefix(quoted, `"`), `"`) }

// hider leaves out secrets in every form in which they are sent or quoted.
func hider(secrets []string) *strings.Replacer {
	var pairs []string
	for _, secret := range secrets {
		if len(secret) < leastSecret {
			continue
		}
		quoted, err := json.Marshal(secret)
		if err != nil {
			quoted = []byte(secret) // a string always is JSON
		}
		for _, form := range []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret), (&url.URL{Path: secret}).EscapedPath(),
			inner(string(quoted)), inner(strconv.Quote(secret)), base64.StdEncoding.EncodeToString([]byte(secret)),
		} {
			pairs = append(pairs, form, "***")
		}
	}
	return strings.NewReplacer(pairs...)
}
