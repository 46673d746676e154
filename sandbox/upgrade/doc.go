// Package upgrade tests the upgrade from 0.1 to 0.2, and back inside 0.2, on a real API server: it plays a release of 0.1,
// runs the commands of docs/upgrade.md as they are printed, with kubectl, Helm and our own program, and looks at what the
// API server says where they are left out.
//
// No pod runs here: a stand-in says of each Deployment that it is rolled out.
//
// It is tests alone.
package upgrade
