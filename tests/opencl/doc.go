// Package opencl compiles and runs OpenCL C with the driver that a machine has: its
// test runs the programs of irconf through package compiler/opencl, on any processor
// if the driver is PoCL, and compares them with their references, as package irconf
// does through PTX.
//
// It is also as small as a driver can be: find a device, build a text, hand over
// memory and arguments, start a kernel, wait.
//
//	dev, err := opencl.Open()
//	program, err := dev.Build(text, "-cl-std=CL1.2")
//	err = program.Run("scale", [3]int{8, 1, 1}, [3]int{128, 1, 1}, args)
package opencl
