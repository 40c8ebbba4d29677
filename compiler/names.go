package compiler

import (
	"io/fs"

	"github.com/gokiln/kiln/compiler/code"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/target"
)

// Version is part of every cache key; see [code.Version].
const Version = code.Version

// What the compiler makes is that of package code.
type (
	// Artifact is a kernel compiled for a target.
	Artifact = code.Artifact
	// Meta describes an artifact.
	Meta = code.Meta
	// Arg is a parameter of the kernel after the Thread.
	Arg = code.Arg
	// Options change what Emit makes.
	Options = code.Options
	// Assume is a set of properties that launches have.
	Assume = code.Assume
)

// The properties of launches.
const (
	Small    = code.Small
	Aligned  = code.Aligned
	Disjoint = code.Disjoint
	Variants = code.Variants // how many sets there are
)

// The formats of an artifact's code.
const (
	FormatIR     = code.FormatIR
	FormatPTX    = code.FormatPTX
	FormatHIP    = code.FormatHIP
	FormatCUDA   = code.FormatCUDA
	FormatMSL    = code.FormatMSL
	FormatOpenCL = code.FormatOpenCL
	FormatLLVM   = code.FormatLLVM
	FormatX86    = code.FormatX86
)

// OptionsFromEnv returns the options that the environment asks for: see
// [code.OptionsFromEnv].
func OptionsFromEnv() Options { return code.OptionsFromEnv() }

// ParseBuild returns the options that [Options.Build] names.
func ParseBuild(text string) (Options, error) { return code.ParseBuild(text) }

// ParseAssume returns the set of properties with these names.
func ParseAssume(names ...string) (Assume, error) { return code.ParseAssume(names...) }

// Assumes returns what code for t is better for knowing of a launch.
func Assumes(t target.Target) Assume { return code.Assumes(t) }

// TargetFor returns what to compile for on a device that loads images of some formats,
// the best first.
func TargetFor(formats []string, arch string) (target.Target, error) {
	return code.TargetFor(formats, arch)
}

// Registered loads the kernel packages that registered their source with dsl.Source.
func Registered(importPath string) (*front.Package, error) { return input.Registered(importPath) }

// RegisteredTests is Registered for a package that is being tested; see
// [input.RegisteredTests].
func RegisteredTests(importPath string) (*front.Package, error) {
	return input.RegisteredTests(importPath)
}

// ReadPackage reads the kernel source of a package: its Go files without tests.
func ReadPackage(importPath string, files fs.FS) (*front.Package, error) {
	return input.ReadPackage(importPath, files)
}
