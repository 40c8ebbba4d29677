// Package indextest has the cases of package index: operations that read by indices, and those that
// write by them. Package suite runs them.
package indextest
