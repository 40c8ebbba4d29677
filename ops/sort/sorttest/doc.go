// Package sorttest has the cases of package sort: sorts and what needs a part of the order. Package
// suite runs them.
package sorttest
