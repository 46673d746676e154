package manager

import (
	"runtime/debug"

	"homecluster.dev/autoscaler/internal/core/policy"
)

// version is set by the linker in a release.
var version string

// Version is the release, or the commit it was built from, or "devel".
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return "devel-" + setting.Value[:12]
		}
	}
	return "devel"
}

// powerImage is the image of the program power that is of the same release as the manager: both are built with one tag,
// which is the release. It is the policy's where that names another than the default, or the manager is no release.
func powerImage(release, base string) string {
	if release == "" || base != policy.DefaultPowerImage {
		return base
	}
	return policy.PowerRepository + ":" + release
}
