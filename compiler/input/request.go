package input

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Request names a kernel and the types to compile it for. A generic kernel
// needs Sig or TypeArgs.
type Request struct {
	Pkg  string // import path
	Func string
	// Sig is the Go type of the instance, as in func(dsl.Thread, []float32).
	// Types may be qualified by dsl, float16, the kernel's own package and what
	// its file imports, or by an import path in quotes; see [Packages].
	Sig      string
	TypeArgs []string // alternative to Sig
	// Consts gives the values of compile-time parameters, those of type
	// dsl.ConstInt or dsl.ConstBool (0 or 1), by name: the parameter's, followed
	// by fields and indices for a part of it, as in cfg.Tiles[1]. The index of the
	// parameter, counted from the Thread at 0, may stand for its name: 3.Tiles[1].
	Consts map[string]int64
	Fill   Fill // for parameters that Consts and Funcs do not name
	// Funcs gives the functions that parameters of function types stand for, by
	// the name or the index of the parameter.
	Funcs map[string]Func
}

// Fill says what becomes of compile-time parameters without a value.
type Fill uint8

// How values that a request lacks are filled in.
const (
	NoFill    Fill = iota // a parameter without a value is a mistake
	FillSmall             // the first value of //kiln:const, else 1 or false
	FillLarge             // the second value of //kiln:const, else 8 or true
)

// Func is a function that a kernel is compiled with: what a parameter of a
// function type stands for. It is a function of a package, by its name, or a
// function literal, by its position; see [FindLiteral].
type Func struct {
	Pkg  string // import path
	Name string // "" for a function literal; Name[T] for an instance of a generic one

	File      string // base name, for a literal
	Line, Col int    // of the word func

	// Sig is the Go type of the function, as for [Request]. Only a generic
	// function without type arguments, and a literal inside of one, need it.
	Sig string
}

// String tells functions apart whose packages have the same source.
func (f Func) String() string {
	s := f.Pkg + "." + f.Name
	if f.Name == "" {
		s = fmt.Sprintf("%s/%s:%d:%d", f.Pkg, f.File, f.Line, f.Col)
	}
	if f.Sig != "" {
		s += " " + f.Sig
	}
	return s
}

// byPath is a package in a signature or type that is named by its import path.
var byPath = regexp.MustCompile(`"([^"\\]+)"\.`)

// Packages returns the packages that a signature or type of a [Request] names
// by their import paths, as in
//
//	func(dsl.Thread, []float32, "example.com/act".Gelu[float32])
func Packages(text string) (paths []string) {
	if !strings.Contains(text, `"`) {
		return nil
	}
	for _, m := range byPath.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(paths, m[1]) {
			paths = append(paths, m[1])
		}
	}
	return paths
}
