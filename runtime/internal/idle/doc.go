// Package idle is the driver of devices that run nothing: each stands for a model of device, which
// need not be there, for a program to find out which kernels it would use on it.
//
// The model:
//
//   - A device has the limits of the model that it stands for, a row of models.go, so operations
//     choose the kernels that they choose there, and loads the code that such a device loads.
//   - Launches, copies and fills do nothing. Memory is addresses with nothing behind them, so a
//     model of any size fits, and of files that are loaded nothing is read.
//   - What is copied to the host is zeros.
//
// Example:
//
//	b := idle.New()
//	n, err := b.Ordinal("ptx:sm_90/132")
//	dev, err := b.Open(n)
package idle
