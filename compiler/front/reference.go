package front

import (
	"maps"
	"slices"
)

// Intrinsics returns the functions that are operations rather than compiled
// from a body, as package.Func or package.Type.Method, sorted.
func Intrinsics() []string { return slices.Sorted(maps.Keys(intrinsics)) }

// StandIns returns the packages outside of Kiln that kernels may use, as they
// see them: import path to Go text.
func StandIns() map[string]string {
	return map[string]string{mathPath: mathSource, bitsPath: bitsSource, float16Path: float16Source}
}
