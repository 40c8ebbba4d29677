// Package scattertest has the cases of package scatter: scatters of narrow types and of long lists.
// Package suite runs them.
package scattertest
