package kubelet

import "testing"

func TestExpand(t *testing.T) {
	values := map[string]string{"HOST": "bmc-1", "EMPTY": ""}
	tests := map[string]struct{ text, want string }{
		"a reference is replaced":                {"-H $(HOST) on", "-H bmc-1 on"},
		"an empty value is a value":              {"[$(EMPTY)]", "[]"},
		"an unknown name stays":                  {"$(NOBODY)", "$(NOBODY)"},
		"two dollars are one":                    {"$$(HOST) costs 5$$", "$(HOST) costs 5$"},
		"a shell's own variables are left alone": {"echo $HOME ${HOST}", "echo $HOME ${HOST}"},
		"an open reference is text":              {"$(HOST", "$(HOST"},
		"a dollar at the end is text":            {"5$", "5$"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := expand(test.text, values); got != test.want {
				t.Errorf("expand(%q) = %q, want %q", test.text, got, test.want)
			}
		})
	}
}

func TestRelocate(t *testing.T) {
	mounts := []mount{
		{"/etc/power", "/tmp/pods/1/power"}, {"/etc/power/keys", "/tmp/pods/1/keys"}, {"/tmp", "/tmp/pods/1/scratch"},
	}
	tests := map[string]struct{ text, want string }{
		"the path itself":                       {"/etc/power", "/tmp/pods/1/power"},
		"something below it":                    {"/etc/power/password", "/tmp/pods/1/power/password"},
		"the longest path wins":                 {"/etc/power/keys/id", "/tmp/pods/1/keys/id"},
		"within a shell's script":               {"cat /etc/power/a;cat '/etc/power/b'", "cat /tmp/pods/1/power/a;cat '/tmp/pods/1/power/b'"},
		"after an equals sign":                  {"--file=/etc/power/a", "--file=/tmp/pods/1/power/a"},
		"a longer name is another path":         {"/etc/powerful", "/etc/powerful"},
		"a path below another is another":       {"/opt/etc/power", "/opt/etc/power"},
		"what was put in is not replaced again": {"/tmp/x /etc/power", "/tmp/pods/1/scratch/x /tmp/pods/1/power"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := relocate(test.text, mounts); got != test.want {
				t.Errorf("relocate(%q) = %q, want %q", test.text, got, test.want)
			}
		})
	}
}
