// Command power works a machine's power switch over IPMI, Redfish, Wake-on-LAN, ssh or plain HTTP.
package main

import (
	"os"

	"homecluster.dev/autoscaler/internal/power/process"
)

func main() { os.Exit(process.Run(os.Args[1:], os.Stdout, os.Stderr)) }
