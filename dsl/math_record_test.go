package dsl_test

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl/dsltest"
)

var update = flag.Bool("update", false, "write what is measured to testdata/accuracy.txt, and that to docs/math.md")

const (
	recordFile = "testdata/accuracy.txt"
	docFile    = "../docs/math.md"
	all32      = 1 << 32 // float32 arguments there are
)

// record is the largest error seen of one function in one width.
type record struct {
	name   string
	width  int
	points uint64 // arguments tested
	worst  float64
	at     string // the argument, or arguments, with that error
	print  string // fingerprint of the function's results
}

func (r record) String() string {
	return fmt.Sprintf("%s float%d %d %.4f %s %s", r.name, r.width, r.points, r.worst, r.at, r.print)
}

func readRecords(t *testing.T) []record {
	t.Helper()
	f, err := os.Open(recordFile)
	require.NoError(t, err)
	defer f.Close()
	var list []record
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var r record
		_, err := fmt.Sscanf(lines.Text(), "%s float%d %d %f %s %s", &r.name, &r.width, &r.points, &r.worst, &r.at, &r.print)
		require.NoError(t, err, "%s: %q", recordFile, lines.Text())
		list = append(list, r)
	}
	return list
}

// keep puts r into the file, in place of the record of the same function
// unless that saw more of the same function.
func keep(t *testing.T, r record) {
	t.Helper()
	list := readRecords(t)
	i := slices.IndexFunc(list, func(o record) bool { return o.name == r.name && o.width == r.width })
	switch {
	case i < 0:
		list = append(list, r)
	case list[i].print == r.print && list[i].points > r.points:
		return
	default:
		list[i] = r
	}
	rank := func(name string) int {
		return slices.IndexFunc(dsltest.MathBounds(), func(b dsltest.MathBound) bool { return b.Name == name })
	}
	slices.SortFunc(list, func(a, b record) int { return cmp.Or(rank(a.name)-rank(b.name), a.width-b.width) })
	var out strings.Builder
	out.WriteString("# Largest errors seen: function, type, points, ulp, argument bits, checksum of the results that TestRecord takes.\n")
	for _, r := range list {
		fmt.Fprintln(&out, r)
	}
	require.NoError(t, os.WriteFile(recordFile, []byte(out.String()), 0o666))
}

// The fingerprints are checksums of results at some thousand arguments. They
// tell whether a record is of the function as it is.

func (u unary) print32() string {
	h := crc32.NewIEEE()
	for i := uint64(0); i < all32; i += 1<<19 - 1 {
		sum32(h, u.f32(math.Float32frombits(uint32(i))))
	}
	for _, x := range edges32() {
		sum32(h, u.f32(x))
	}
	return fmt.Sprintf("%08x", h.Sum32())
}

func (u unary) print64() string {
	h := crc32.NewIEEE()
	for _, x := range args64(u, 1000) {
		sum64(h, u.f64(x))
	}
	return fmt.Sprintf("%08x", h.Sum32())
}

func (b binary) print32() string {
	h := crc32.NewIEEE()
	for _, p := range pairs(rand.New(rand.NewPCG(3, 4)), 200) {
		sum32(h, b.f32(float32(p[0]), float32(p[1])))
	}
	return fmt.Sprintf("%08x", h.Sum32())
}

func (b binary) print64() string {
	h := crc32.NewIEEE()
	for _, p := range pairs(rand.New(rand.NewPCG(3, 4)), 200) {
		sum64(h, b.f64(p[0], p[1]))
	}
	return fmt.Sprintf("%08x", h.Sum32())
}

type writer interface{ Write([]byte) (int, error) }

// sum32 adds a result to a checksum; every NaN counts as one.
func sum32(h writer, x float32) { sum64(h, float64(x)) }

func sum64(h writer, x float64) {
	b := math.Float64bits(x)
	if x != x {
		b = 1
	}
	var text [8]byte
	for i := range text {
		text[i] = byte(b >> (8 * i))
	}
	_, _ = h.Write(text[:]) // checksums do not fail
}

// Every inexact function has a record in both widths, of the function as it is
// now, and keeps to its bound.
func TestRecord(t *testing.T) {
	have := map[string]record{}
	for _, r := range readRecords(t) {
		have[fmt.Sprint(r.name, r.width)] = r
	}
	check := func(name string, width int, print string, limit float64) {
		r, ok := have[fmt.Sprint(name, width)]
		switch {
		case !ok:
			t.Errorf("%s has no record of %s[float%d]: measure it as CONTRIBUTING.md says", recordFile, name, width)
		case r.print != print:
			t.Errorf("%s: %s[float%d] has changed since it was measured: measure it as CONTRIBUTING.md says", recordFile, name, width)
		case r.worst > limit:
			t.Errorf("%s: %s[float%d] is off by %.4f ulp, stated are %g", recordFile, name, width, r.worst, limit)
		}
		if width == 32 && r.points < 1<<24 && slices.ContainsFunc(unaries, func(u unary) bool { return u.name == name }) {
			t.Errorf("%s: %s[float32] was measured at %d points, which is not enough", recordFile, name, r.points)
		}
	}
	for _, u := range unaries {
		b := bound(t, u.name)
		check(u.name, 32, u.print32(), b.F32)
		check(u.name, 64, u.print64(), b.F64)
	}
	for _, b := range binaries {
		s := bound(t, b.name)
		check(b.name, 32, b.print32(), s.F32)
		check(b.name, 64, b.print64(), s.F64)
	}
}

// The table of docs/math.md is made from the bounds and the records.
func TestRecordInDocs(t *testing.T) {
	const head, tail = "<!-- made by go test ./dsl -run RecordInDocs -update -->\n", "<!-- end -->\n"
	have := map[string]record{}
	for _, r := range readRecords(t) {
		have[fmt.Sprint(r.name, r.width)] = r
	}
	var table strings.Builder
	table.WriteString("| function | float32 | float64 | measured float32 | over | measured float64 | over |\n|---|---|---|---|---|---|---|\n")
	for _, b := range dsltest.MathBounds() {
		r, s := have[b.Name+"32"], have[b.Name+"64"]
		fmt.Fprintf(&table, "| %s | %g | %g | %.2f | %s | %.2f | %s |\n", b.Name, b.F32, b.F64, r.worst, amount(r), s.worst, amount(s))
	}
	text, err := os.ReadFile(docFile)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), head)
	require.True(t, ok, "%s has no line %q", docFile, head)
	_, after, ok := strings.Cut(rest, tail)
	require.True(t, ok, "%s has no line %q after the table", docFile, tail)
	want := before + head + "\n" + table.String() + "\n" + tail + after
	if *update {
		require.NoError(t, os.WriteFile(docFile, []byte(want), 0o666))
		return
	}
	require.Equal(t, want, string(text), "%s is out of date: go test ./dsl -run RecordInDocs -update", docFile)
}

// amount says how much a record saw.
func amount(r record) string {
	switch {
	case r.points >= all32:
		return "all"
	case r.points >= 1e6:
		return fmt.Sprintf("%d million", r.points/1e6)
	}
	return fmt.Sprintf("%d thousand", r.points/1e3)
}
