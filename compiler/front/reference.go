package front

import (
	"github.com/gokiln/kiln/compiler/front/internal/lower"
	"github.com/gokiln/kiln/compiler/front/internal/source"
	"github.com/gokiln/kiln/compiler/input"
)

// Intrinsics returns the functions that are operations rather than compiled
// from a body, as package.Func or package.Type.Method, sorted.
func Intrinsics() []string { return lower.Intrinsics() }

// StandIns returns the packages outside of Kiln that kernels may use, as they
// see them: import path to Go text.
func StandIns() map[string]string {
	return map[string]string{input.Math: source.MathText, input.Bits: source.BitsText, input.Float16: source.Float16Text}
}
