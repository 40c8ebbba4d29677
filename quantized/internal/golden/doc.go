// Package golden reads what the reference implementation of quantized formats made, for tests: the
// file that quantized/testdata/reduce.py writes, or the whole data that it is a part of.
package golden
