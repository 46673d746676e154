package plugin_test

import (
	"bytes"
	"strings"
	"sync"
)

// lines is a buffer that is written by one goroutine and read by another.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// lacks is what is wrong when the word has not been written yet.
func (l *lines) lacks(word string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.Contains(l.text.String(), word) {
		return ""
	}
	return "no " + word + " in:\n" + l.text.String()
}
