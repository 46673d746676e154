// Package bmc gives the machines of a machine room switches that speak the protocols of real ones, and lets them lie.
//
// A Panel is everything by which one machine's power can be worked: an IPMI controller and a Redfish service beside the
// machine, an SSH server in its operating system, a smart plug before it, a network card that waits for a magic packet.
// Each listens on a loopback address of the machine's own, has the machine's own credentials, and speaks so that the
// usual tools work against it: ipmitool, ssh, curl.
//
// Lies say, for one protocol of one machine, how it deceives whoever uses it. They can be changed while it runs. What
// was done and what was only said stands in the machine room's power log, each line with its protocol as the source.
package bmc
