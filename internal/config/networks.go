package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Networks are ranges of addresses.
type Networks []netip.Prefix

// UnmarshalText reads a comma separated list of networks (10.0.0.0/8) and single
// addresses (192.0.2.7).
func (n *Networks) UnmarshalText(text []byte) error {
	for item := range strings.SplitSeq(string(text), ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			addr, addrErr := netip.ParseAddr(item)
			if addrErr != nil {
				return fmt.Errorf("%q is not a network such as 10.0.0.0/8", item)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		*n = append(*n, prefix.Masked())
	}
	return nil
}

// Contains reports whether the address is in one of the networks.
func (n Networks) Contains(addr netip.Addr) bool {
	return slices.ContainsFunc(n, func(p netip.Prefix) bool { return p.Contains(addr.Unmap()) })
}
