package api

import (
	"net/http"
	"net/netip"
	"testing"
)

func TestClientAddress(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, test := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"direct", "192.0.2.9:1234", nil, "192.0.2.9"},
		{"direct, with a made-up header", "192.0.2.9:1234", []string{"198.51.100.1"}, "192.0.2.9"},
		{"one proxy", "10.0.0.1:1234", []string{"198.51.100.1"}, "198.51.100.1"},
		{"two proxies", "10.0.0.1:1234", []string{"198.51.100.1, 10.0.0.2"}, "198.51.100.1"},
		{"two header lines", "10.0.0.1:1234", []string{"198.51.100.1", "10.0.0.2"}, "198.51.100.1"},
		{"a client that made entries up", "10.0.0.1:1234", []string{"203.0.113.7, 198.51.100.1"}, "198.51.100.1"},
		{"no header", "10.0.0.1:1234", nil, "10.0.0.1"},
		{"nonsense in the header", "10.0.0.1:1234", []string{"unknown"}, "10.0.0.1"},
		{"mapped IPv4", "[::ffff:192.0.2.9]:1234", nil, "192.0.2.9"},
		{"IPv6 proxy", "[fd00::1]:1234", []string{"2001:db8::1"}, "2001:db8::1"},
		{"IPv6 with a zone", "[fe80::1%eth0]:1234", nil, "fe80::1"},
	} {
		r := &http.Request{RemoteAddr: test.peer, Header: http.Header{"X-Forwarded-For": test.forwarded}}
		if got := clientAddress(r, trusted); got.String() != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
