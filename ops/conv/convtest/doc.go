// Package convtest has the cases of package conv: convolutions, pooling, windows, resizing and
// sampling. Package suite runs them.
package convtest
