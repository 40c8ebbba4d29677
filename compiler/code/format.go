package code

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/target"
)

// The formats of an artifact's code.
const (
	FormatIR     = "kir" // IR text, for the CPU
	FormatPTX    = "ptx"
	FormatHIP    = "hip"  // HIP C++
	FormatCUDA   = "cuda" // CUDA C++
	FormatMSL    = "msl"  // Metal Shading Language
	FormatOpenCL = "cl"   // OpenCL C
	FormatLLVM   = "ll"   // LLVM IR
	FormatX86    = "x86"  // machine code for amd64, in the container of package image
)

// kinds has a row for each kind of target: the format of its code, and what that is better
// for knowing of a launch.
var kinds = []struct {
	kind, format string
	assumes      Assume
}{
	{target.Interp, FormatIR, 0},
	{target.PTX, FormatPTX, Small | Aligned | Disjoint},
	{target.LLVM, FormatLLVM, Small | Aligned | Disjoint},
	{target.HIP, FormatHIP, Small | Disjoint},
	{target.CUDA, FormatCUDA, Small | Disjoint},
	{target.MSL, FormatMSL, Small | Disjoint},
	{target.OpenCL, FormatOpenCL, Small | Disjoint},
	{target.Native, FormatX86, 0},
}

// FormatOf returns the format of code for t, "" for a target that there is none for.
func FormatOf(t target.Target) string {
	for _, k := range kinds {
		if k.kind == t.Kind {
			return k.format
		}
	}
	return ""
}

// Assumes returns what code for t is better for knowing of a launch. Targets whose
// code would not differ have one variant.
func Assumes(t target.Target) Assume {
	for _, k := range kinds {
		if k.kind == t.Kind {
			return k.assumes
		}
	}
	return 0
}

// TargetFor returns what code to have on a device that loads images of some formats, the
// best first.
func TargetFor(formats []string, arch string) (target.Target, error) {
	for _, format := range formats {
		for _, k := range kinds {
			switch {
			case k.format != format:
			case k.kind == target.Interp:
				if t, err := target.Parse("cpu:" + arch); err == nil && t.Kind == target.Interp {
					return t, nil
				}
				return target.CPU, nil
			default:
				return target.ForDevice(k.kind, arch)
			}
		}
	}
	return target.Target{}, fmt.Errorf("the device loads %v, none of which the compiler makes", formats)
}
