package amd64

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Neighbouring rows of arrays are at one product, made once, and distances from it.
func TestRowsShareProduct(t *testing.T) {
	const source = `module "k.Rows"

shared 0 "now" [40][40]f32
shared 1 "next" [40][40]f32
kernel @Rows(%0: i64) args(y scalar i64 "int") {
b0:
  %1 = thread 0 : i64
  %2 = const 1 : i64
  %3 = shared 0 : ptr<shared,[40][40]f32>
  %4 = shared 1 : ptr<shared,[40][40]f32>
  %5 = add %0, %2 : i64
  %6 = index %3, %0 : ptr<shared,[40]f32>
  %7 = index %3, %5 : ptr<shared,[40]f32>
  %8 = index %4, %0 : ptr<shared,[40]f32>
  %9 = index %6, %1 : ptr<shared,f32>
  %10 = index %7, %1 : ptr<shared,f32>
  %11 = index %8, %1 : ptr<shared,f32>
  %12 = load %9 : f32
  %13 = load %10 : f32
  %14 = add %12, %13 : f32
  store %11, %14
  ret
}
`
	text := codeOf(t, "amd64:avx2", source)
	assert.Equal(t, 1, strings.Count(text, "\timul "), text)
	assert.Contains(t, text, " + 160]", text)
}

// In the copy of a branch for vectors that pass as a whole, what the lanes pass to a block
// where paths join is moved, not blended, and that i+7 does not wrap is known from the tests in
// front of the branches that were copied.
func TestWholeBranches(t *testing.T) {
	const source = `module "k.Edge"

kernel @Edge(%0: ptr<global,f32>, %1: i64, %2: i64) args(x slice f32 "[]float32", from scalar i64 "int") {
b0:
  %3 = thread 0 : i64
  %4 = lt %3, %1 : bool
  br %4, b1, b4
b1:
  %5 = offset %0, %3 : ptr<global,f32>
  %6 = load %5 : f32
  %7 = const 1000 : i64
  %8 = and %2, %7 : i64
  %9 = add %3, %8 : i64
  %10 = lt %9, %1 : bool
  br %10, b2, b3(%6)
b2:
  %11 = add %6, %6 : f32
  jump b3(%11)
b3(%12: f32):
  store %5, %12
  jump b4
b4:
  ret
}
`
	text := codeOf(t, "amd64:avx2", source)
	_, rows, _ := strings.Cut(text, "# for blocks whose rows of threads along x are cut into vectors")
	assert.NotContains(t, rows, "\tjo ", rows)
	assert.Equal(t, 4, strings.Count(rows, "vblendvps"), rows)
}
