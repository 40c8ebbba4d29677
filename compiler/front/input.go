package front

import "github.com/gokiln/kiln/compiler/input"

// What the front end is given is that of package input.
type (
	// Package is the source of a kernel package.
	Package = input.Package
	// File is a source file.
	File = input.File
	// Loader finds the source of a kernel package.
	Loader = input.Loader
	// Request names a kernel and the types to compile it for.
	Request = input.Request
	// Func is a function that a kernel is compiled with.
	Func = input.Func
	// Fill says what becomes of compile-time parameters without a value.
	Fill = input.Fill
)

// How values that a request lacks are filled in.
const (
	NoFill    = input.NoFill    // a parameter without a value is a mistake
	FillSmall = input.FillSmall // the first value of //kiln:const, else 1 or false
	FillLarge = input.FillLarge // the second value of //kiln:const, else 8 or true
)
