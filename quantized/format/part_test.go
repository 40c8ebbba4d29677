package format

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Parts have the values of runs, for any bytes, wherever a block lies and up to the last byte; so have
// those of words alone with a table, of which there are as many as the last byte needs.
func TestPart(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, of := range quantizedTypes() {
		f, err := of.Block()
		require.NoError(t, err)
		require.Zero(t, f.Elems()%PartLen, "%v", of)
		raw := make([]byte, 37*f.Bytes())
		for i := range raw {
			raw[i] = byte(rnd.Uint32())
		}
		d := DataOf(raw)
		words := Data{W: DataOf(append(slices.Clone(raw), make([]byte, 4)...)).W, Words: true}
		for i := range f.TableLen() {
			words.Table = append(words.Table, f.TableWord(i))
		}
		for i := range 37 {
			for p := range f.Elems() / PartLen {
				d.Shifts = (i+p)%2 == 0
				part := f.Part(d, i*f.Bytes(), p)
				if !f.HasMin() {
					require.Zero(t, part.M, "%v", of)
				}
				words.Shifts = d.Shifts
				inWords := f.Part(words, i*f.Bytes(), p)
				for j := range PartLen {
					run := f.Run(d, i*f.Bytes(), p*4+j/RunLen)
					most := math.Abs(float64(run.D))*128 + math.Abs(float64(run.M))
					want := float64(run.At(j % RunLen))
					closeTo(t, want, float64(part.At(j, f.Scales())), most, "%v: block %d, part %d, element %d", of, i, p, j)
					closeTo(t, want, float64(inWords.At(j, f.Scales())), most, "%v in words: block %d, part %d, element %d", of, i, p, j)
				}
			}
		}
	}
}

// closeTo compares numbers up to a few roundings of the largest one that is added.
func closeTo(t *testing.T, want, got, most float64, format string, args ...any) {
	t.Helper()
	if most > math.MaxFloat32/4 || math.IsNaN(most) {
		return // scales of random bytes may be no numbers
	}
	if !(math.Abs(want-got) <= most*0x1p-21) {
		t.Fatalf("%s is %v, not %v", fmt.Sprintf(format, args...), got, want)
	}
}
