package plainjson

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

type thing struct {
	Name  string `json:"name"`
	Size  int    `json:"size"`
	Used  bool   `json:"used,omitempty"`
	Parts []part `json:"parts"`
}

type part struct {
	At int `json:"at"`
}

func readThing(text string) (t thing, ok bool) {
	parts := 0
	ok = Read(text, func(r *Reader) {
		r.Object(func(name string) {
			switch name {
			case "name":
				t.Name = r.String()
			case "size":
				t.Size = r.Int()
			case "used":
				t.Used = r.Bool()
			case "parts":
				if parts++; parts > 1 {
					r.Fail()
				}
				t.Parts = []part{}
				r.Array(func() {
					var p part
					r.Object(func(name string) {
						if name != "at" {
							r.Fail()
							return
						}
						p.At = r.Int()
					})
					t.Parts = append(t.Parts, p)
				})
			default:
				r.Fail()
			}
		})
	})
	return t, ok
}

func TestPlain(t *testing.T) {
	for _, want := range []thing{
		{Parts: []part{}},
		{Name: `func(a, b []float32) {x: 1}`, Size: 123456789, Used: true, Parts: []part{{0}, {-7}, {999999999}}},
		{Name: "[]{},:", Size: -10, Parts: []part{{}}},
	} {
		text, err := json.Marshal(want)
		require.NoError(t, err)
		got, ok := readThing(string(text))
		require.True(t, ok, "%s", text)
		require.Equal(t, want, got)
	}
}

// TestNotPlain has texts that encoding/json has to read, or to refuse.
func TestNotPlain(t *testing.T) {
	for _, text := range []string{
		``, `{`, `{"`, `{"size"`, `{"size":`, `{"size":1`, `{"size":1,`, `{"size":1,}`, `{"size":1}}`, `{"size":1} `, `{ "size":1}`, `[1]`, `null`,
		`{"size":01}`, `{"size":-}`, `{"size":1.0}`, `{"size":1e3}`, `{"size":1234567890}`, `{"size":null}`, `{"size":--1}`, `{"size":+1}`,
		`{"name":"a\nb"}`, `{"name":"a\u003c"}`, "{\"name\":\"a\x01\"}", `{"name":"ä"}`, "{\"name\":\"\xff\"}", `{"name":"a}`,
		`{"used":1}`, `{"used":tru}`, `{"used":"true"}`, `{"other":1}`, `{"Name":"a"}`,
		`{"parts":[}`, `{"parts":[{},]}`, `{"parts":[{"at":1}`, `{"parts":[],"parts":[]}`, `{"parts":null}`, `{"parts":[{"at":1,"by":2}]}`,
	} {
		_, ok := readThing(text)
		require.False(t, ok, text)
	}
}

// FuzzRead checks that what is read here is what encoding/json reads.
func FuzzRead(f *testing.F) {
	f.Add(`{"name":"a","size":-1,"used":true,"parts":[{"at":1},{}]}`)
	f.Add(`{"name":"\u003c","size":1,"size":2}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := readThing(text)
		if !ok {
			return
		}
		var want thing
		require.NoError(t, json.Unmarshal([]byte(text), &want))
		require.Equal(t, want, got)
	})
}
