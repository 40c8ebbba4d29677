// Package fouriertest has the cases of package fourier: Fourier transforms. Package suite runs
// them.
package fouriertest
