package module_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// hangingProxy returns the address of a module proxy that accepts requests and
// never answers them.
func hangingProxy(t *testing.T) string {
	over := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(over); s.Close() })
	return s.URL
}
