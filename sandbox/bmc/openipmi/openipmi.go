// Package openipmi describes a machine to ipmi_sim, OpenIPMI's simulator of a BMC: a peer that shares no code with ours.
package openipmi

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// lan says where the BMC is reached, by whom, and which program works its chassis.
const lan = `name "m"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 %s
    priv_limit admin
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "%s"
  user 2 true "admin" "secret" admin 10 none md2 md5 straight
`

const emulation = "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr\n" +
	"sel_enable 0x20 1000 0x0a\nmc_enable 0x20\n"

// Write describes, in a folder, a BMC at a port of 127.0.0.1 whose user admin has the password secret, and answers the
// arguments by which ipmi_sim takes its place. Chassis is the program that it runs with "get power" and the like.
func Write(folder, port, chassis string) (arguments []string, err error) {
	lanFile, emulationFile := filepath.Join(folder, "lan.conf"), filepath.Join(folder, "bmc.emu")
	err = errors.Join(
		os.WriteFile(lanFile, fmt.Appendf(nil, lan, port, chassis), 0o600),
		os.WriteFile(emulationFile, []byte(emulation), 0o600))
	return []string{"-n", "-c", lanFile, "-f", emulationFile, "-s", folder}, err
}
