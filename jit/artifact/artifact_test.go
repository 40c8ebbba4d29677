package artifact

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/compiler/code"
	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/devlog"
)

func TestSource(t *testing.T) {
	src := Source{IR: "00ff", Positions: []ir.Pos{{File: "k/k.go", Line: 7, Col: 3}, {}}}
	e, err := src.Entry("k.Scale", `{"kernel":"k.Scale"}`)
	require.NoError(t, err)
	hash, positions, err := ReadSource(e)
	require.NoError(t, err)
	assert.Equal(t, "00ff", hash)
	assert.Equal(t, appendPositions(nil, src.Positions), []byte(positions))
	spec, err := SpecOf(e)
	require.NoError(t, err)
	assert.Equal(t, `{"kernel":"k.Scale"}`, spec)

	// Entries of earlier releases do not say what they were made of.
	e.Meta, e.Body = []byte(`{"ir":"00ff"}`), appendPositions(nil, src.Positions)
	hash, positions, err = ReadSource(e)
	require.NoError(t, err)
	assert.Equal(t, "00ff", hash)
	assert.Equal(t, e.Body, []byte(positions))
	spec, err = SpecOf(e)
	require.NoError(t, err)
	assert.Empty(t, spec)

	for meta, want := range map[string]string{
		`{"ir":"00ff","spec_bytes":99}`: "99 of them its specialisation",
		`{"ir":"00ff","spec_bytes":-1}`: "-1 of them its specialisation",
		`{"spec_bytes":1}`:              "without a hash",
		`{`:                             "source entry: ",
	} {
		e.Meta = []byte(meta)
		_, _, err = ReadSource(e)
		assert.ErrorContains(t, err, want, meta)
	}
	e.Kind = cache.KindMachine
	_, err = SpecOf(e)
	assert.ErrorContains(t, err, "an entry of kind machine, want source")
}

// TestSpecialisation has what keys are made of: another text is other keys for what is the same.
func TestSpecialisation(t *testing.T) {
	for want, req := range map[string]input.Request{
		"":                                       {Pkg: "k", Func: "F"},
		"{n:-1}":                                 {Consts: map[string]int64{"n": -1}},
		"{3.A:1,3:2}":                            {Consts: map[string]int64{"3": 2, "3.A": 1}},
		"{3.K[0]:5,3.K[10]:6,3.K[1]:7,3:8,3a:9}": {Consts: map[string]int64{"3": 8, "3.K[10]": 6, "3.K[1]": 7, "3.K[0]": 5, "3a": 9}},
		"{n:1}{1:k.Mul}{2:k.Add[float32]}":       {Consts: map[string]int64{"n": 1}, Funcs: map[string]input.Func{"2": {Pkg: "k", Name: "Add[float32]"}, "1": {Pkg: "k", Name: "Mul"}}},
	} {
		assert.Equal(t, want, Specialisation(req))
	}
}

// TestRead has meta data that is plain JSON and some that is not.
func TestRead(t *testing.T) {
	plain := code.Meta{
		Kernel: "k.Scale[float32]", Entry: "Scale", Target: "ptx:sm_90", Format: "cubin", Shared: 512, Warp: true, Threads: 128, Interpreted: "no",
		Length: &ir.Length{Offset: 16, Size: 8, Signed: true, Elem: 4},
		Args:   []code.Arg{{Name: "x", Go: "[]float32", Slice: true, Size: 4, Written: true}, {Name: "n", Go: "int", Size: 8, Offset: 16, Const: true}},
	}
	none, foreign, logs := plain, plain, plain
	none.Args = []code.Arg{}
	foreign.Kernel = `k.Scale["b/ü".T]`
	logs.Log = &devlog.Log{}
	for i, m := range []code.Meta{plain, none, foreign, logs} {
		e, err := Entry(cache.KindMachine, &code.Artifact{Meta: m, Code: []byte("code")}, code.Options{}, "tool")
		require.NoError(t, err)
		var got code.Meta
		assert.Equal(t, i < 2, readMeta(string(e.Meta), &got), "%s", e.Meta)
		a, err := Read(e, cache.KindMachine)
		require.NoError(t, err)
		assert.Equal(t, m, a.Meta)
		assert.Equal(t, "code", string(a.Code))
		_, err = Read(e, cache.KindArtifact)
		require.ErrorContains(t, err, "an entry of kind machine, want artifact")
	}
	for _, meta := range []string{``, `{`, `{"args":1}`, `{"args":[{"size":"1"}]}`, `{"shared":1.5}`} {
		_, err := Read(&cache.Entry{Header: cache.Header{Kind: cache.KindMachine, Meta: []byte(meta)}}, cache.KindMachine)
		require.ErrorContains(t, err, "machine entry: ", meta)
	}
}

// FuzzMeta checks that meta data reads the same by both readers.
func FuzzMeta(f *testing.F) {
	f.Add(`{"kernel":"k","entry":"e","target":"t","format":"cubin","args":[{"name":"x","go":"int","size":8,"offset":0}],"shared":0,"warp":false}`)
	f.Add(`{"args":[],"args":[{}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var got, want code.Meta
		if readMeta(text, &got) {
			require.NoError(t, json.Unmarshal([]byte(text), &want))
			require.Equal(t, want, got)
		}
		var source, wantSource sourceMeta
		if source.read(text) {
			require.NoError(t, json.Unmarshal([]byte(text), &wantSource))
			require.Equal(t, wantSource, source)
		}
	})
}
