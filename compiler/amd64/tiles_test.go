package amd64

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

const packed = `module "k.Packed"

kernel @Packed(%0: ptr<global,KIND>, %1: i64, %2: ptr<global,SUM>) args(x slice KIND "x", y slice SUM "y") {
b0:
  %3 = thread 0 : i64
  %4 = matrix.fact 16 : i64
  %5 = const 0 : i64
  %6 = gt %4, %5 : bool
  br %6, b1, b2
b1:
  %7 = local : ptr<local,[64]SUM>
  %8 = index %7, %5 : ptr<local,SUM>
  %9 = const 3 : i64
  mma.packed %8, %0, %0, AT, %9, NUMBER
  %10 = load %8 : SUM
  %11 = offset %2, %3 : ptr<global,SUM>
  store %11, %10
  jump b2
b2:
  ret
}
`

// packedKernel is a kernel with a product of a kind, of rows that are pitch apart.
func packedKernel(elem, sum, kind, pitch string) string {
	return strings.NewReplacer("KIND", elem, "SUM", sum, "NUMBER", kind, "AT", pitch).Replace(packed)
}

// Products of packed factors have code for processors with tile registers, which configures these and
// releases them at every return, for those with dot products of pairs, and for others, which come to
// none of it.
func TestWaysForTiles(t *testing.T) {
	tgt, err := target.Parse("amd64:avx512")
	require.NoError(t, err)
	for _, c := range [][5]string{{"bf16", "f32", "1", "tdpbf16ps", "vdpbf16ps"}, {"i8", "i32", "6", "tdpbssd", "vpdpbusd"}, {"u8", "u32", "7", "tdpbuud", "vpdpbusd"}} {
		source := packedKernel(c[0], c[1], c[2], "%1")
		m, err := ir.Parse(source)
		require.NoError(t, err)
		im, list, err := Options{}.build(m, tgt)
		require.NoError(t, err)
		require.NotNil(t, im.Tiles)
		require.NotNil(t, im.Pairs)
		require.Nil(t, im.VNNI)
		require.NotContains(t, []int{im.Rows, im.General, im.Pairs.Rows, im.Tiles.General}, im.Tiles.Rows)
		require.Len(t, list, 6)
		code := codeOf(t, "amd64:avx512", source)
		parts := strings.Split(code, "\n# for blocks")[1:]
		require.Len(t, parts, 6)
		for i, part := range parts {
			tiles := i % 3 / 2
			assert.Equal(t, i%3 == 1, strings.Count(part, "\t"+c[4]+" zmm") >= 64, part)
			assert.Equal(t, tiles, strings.Count(part, "\tldtilecfg "), part)
			assert.Equal(t, tiles*strings.Count(part, "\tret\n"), strings.Count(part, "\ttilerelease\n"), part)
			assert.Equal(t, 4*tiles, strings.Count(part, "\t"+c[3]+" tmm"), part)
			assert.Equal(t, 4*tiles, strings.Count(part, "\ttilestored "), part)
		}
	}
}

// What is not the same in all lanes is for the interpreter, which refuses it with a reason.
func TestTilesOfVaryingRows(t *testing.T) {
	tgt, err := target.Parse("amd64:avx512")
	require.NoError(t, err)
	m, err := ir.Parse(packedKernel("bf16", "f32", "1", "%3"))
	require.NoError(t, err)
	_, _, err = Options{}.build(m, tgt)
	require.ErrorIs(t, err, image.ErrInterp)
}
