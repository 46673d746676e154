package switches

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// maxSource is how many characters status.powerReading.source may hold.
const maxSource = 300

// Source names protocol and address, for people, as the slot spells it.
func Source(s *v2.PowerSwitch) string {
	source := ""
	switch Protocol(s) {
	case "ipmi":
		source = "ipmi " + address(s.IPMI)
	case "redfish":
		source = "redfish " + host(s.Redfish.URL)
	case "http":
		source = "http " + host(s.HTTP.Status.URL)
	}
	if runes := []rune(source); len(runes) > maxSource {
		source = string(runes[:maxSource-1]) + "…"
	}
	return source
}

// Place is the host and port that is asked, in one spelling of the many it may have: what is asked there takes turns.
func Place(s *v2.PowerSwitch) string {
	switch Protocol(s) {
	case "ipmi":
		return net.JoinHostPort(plain(s.IPMI.Address), port(s.IPMI))
	case "redfish":
		return place(s.Redfish.URL)
	case "http":
		return place(s.HTTP.Status.URL)
	}
	return ""
}

func address(s *v2.IPMISwitch) string { return net.JoinHostPort(s.Address, port(s)) }

func port(s *v2.IPMISwitch) string { return strconv.Itoa(int(cmp.Or(s.Port, 623))) }

// host is the host of a URL, without what may be secret in the rest of it.
func host(text string) string {
	at, err := url.Parse(text)
	if err != nil {
		return "?"
	}
	return at.Host
}

func place(text string) string {
	at, err := url.Parse(text)
	if err != nil {
		return "?"
	}
	number, err := strconv.ParseUint(at.Port(), 10, 16)
	switch {
	case err == nil:
	case at.Scheme == "https":
		number = 443
	default:
		number = 80
	}
	return net.JoinHostPort(plain(at.Hostname()), strconv.FormatUint(number, 10))
}

// plain is a host in lower case and without the dot at its end, an address as it is written shortest.
func plain(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	return host
}
