package amd64

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Lanes that go down in memory load a contiguous vector where all of them are on, and reverse
// its order: 64-bit values take two, the second one below the first.
func TestLoadReversed(t *testing.T) {
	const source = `module "k.FromEnd"

kernel @FromEnd(%0: ptr<global,T>, %1: ptr<global,T>, %2: i64) args(out slice T "", x slice T "") {
b0:
  %3 = thread 0 : i64
  %4 = blockdim 0 : i64
  jump b1(%3)
b1(%5: i64):
  %6 = lt %5, %2 : bool
  br %6, b2, b3
b2:
  %7 = sub %2, %5 : i64
  %8 = offset %1, %7 : ptr<global,T>
  %9 = load %8 : T
  %10 = offset %0, %5 : ptr<global,T>
  store %10, %9
  %11 = add %5, %4 : i64
  jump b1(%11)
b3:
  ret
}
`
	for _, c := range []struct {
		target, elem string
		want         []string
	}{
		{"amd64:avx2", "f32", []string{`vpermd ymm\d+, ymm\d+, ymmword ptr \[.* - 28\]`}},
		{"amd64:avx2", "i64", []string{`vpermq ymm\d+, ymmword ptr \[.* - 24\], 27`, `vpermq ymm\d+, ymmword ptr \[.* - 56\], 27`}},
		{"amd64:avx512", "f32", []string{`vpermd zmm\d+, zmm\d+, zmmword ptr \[.* - 60\]`}},
		{"amd64:avx512", "i64", []string{`vpermq zmm\d+, zmm\d+, zmmword ptr \[.* - 56\]`, `vpermq zmm\d+, zmm\d+, zmmword ptr \[.* - 120\]`}},
	} {
		text := codeOf(t, c.target, strings.NewReplacer(",T>", ","+c.elem+">", " T\n", " "+c.elem+"\n", " T ", " "+c.elem+" ").Replace(source))
		for _, want := range c.want {
			assert.Len(t, regexp.MustCompile(`\t`+want+`(\t|\n)`).FindAllString(text, -1), 1, "%s, %s: %s\n%s", c.target, c.elem, want, text)
		}
	}
}
