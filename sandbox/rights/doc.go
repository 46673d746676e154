// Package rights installs the chart and lets its manager live a whole life as the chart's ServiceAccount, with the rendered
// rules and no others, and holds the API server's audit log against them: nothing was forbidden, and nothing is granted
// that was not used. It also tries what pods of power Jobs may do.
//
// It has tests only.
package rights
