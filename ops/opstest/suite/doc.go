// Package suite tests the tensor operations on a device, for any backend: every operation, element
// type and kind of layout against a plain computation on the host.
//
//	func TestOps(t *testing.T) { suite.Run(t, dev, opstest.All()) }
package suite
