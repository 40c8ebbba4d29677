// Package rowstest has the cases of package rows: reductions, scans, softmax and norms. Package
// suite runs them.
package rowstest
