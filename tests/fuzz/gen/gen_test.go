package gen

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

func TestSameSeedSameKernel(t *testing.T) {
	for seed := range uint64(50) {
		a, b := New(seed), New(seed)
		if a.Source != b.Source {
			t.Fatalf("seed %d gives two kernels", seed)
		}
		if a.Source == New(seed+1).Source {
			t.Fatalf("seeds %d and %d give one kernel", seed, seed+1)
		}
	}
}

// TestEverythingIsDrawn finds constructs that are no longer generated.
func TestEverythingIsDrawn(t *testing.T) {
	var all strings.Builder
	for seed := range uint64(400) {
		k := New(seed)
		if _, err := parser.ParseFile(token.NewFileSet(), k.Name+".go", "package p\n"+k.Source, 0); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		all.WriteString(k.Source)
	}
	text := all.String()
	for _, want := range []string{
		"struct {", "} else if ", "} else {", "switch {", "fallthrough", "default:", "for {", "for range", " := range ", "break l", "continue l",
		":= func(", " &^ ", " << ", "<<= ", " >> ", " %= ", "/= ", "&^= ", "++", "min(", "max(", "bits.LeadingZeros32(", "bits.RotateLeft64(", "bits.Len(", "bits.Reverse32(", "bits.ReverseBytes64(", "dsl.MulHi(", "dsl.Permute(", "dsl.Dot4(",
		"math.Float32frombits(", "bits64(", "dsl.FMA(", "dsl.Exp(", "dsl.Pow(", "dsl.RoundEven(", "dsl.F32(dsl.To[dsl.BF16]", "copysign32(", "toInt8(", "toUint64(",
		"dsl.Shared[[", "t.Sync()", "t.SyncWarp()", "dsl.Shuffle(", "dsl.ShuffleUp(", "dsl.ShuffleDown(", "dsl.ShuffleXor(", "dsl.Ballot(", "dsl.Any(", "dsl.All(",
		"dsl.WarpSum(", "dsl.WarpXor(", "dsl.WarpScanSum(", "dsl.BlockScanExclusive(", "dsl.BlockMax(", "dsl.AtomicAdd(", "dsl.AtomicMax(", "dsl.AtomicXor(", "[:]", ", len(", "return\n", "*q", ":= &", " && ", " || ",
		"dsl.To[dsl.F16](", "[]dsl.BF16", "func (p0 S", "func (p0 *S", "choose(", "twice(", "total(sh", "put(&sh", "swap(&", "[1:]", "range &",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no kernel of 400 contains %q", want)
		}
	}
}
