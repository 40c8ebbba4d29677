// Package record reads and writes records of specialisations: what a program used of its
// kernels, and so what has to be prebuilt for it.
//
// A record is text, a line of JSON for each kernel with its compile-time values and
// functions, sorted, so that records can be compared, merged and kept with the source:
//
//	{"kernel":"example.com/k.Add","sig":"func(dsl.Thread, []float32, []float32)","builds":["aligned,disjoint,small"],"targets":["ptx:sm_90"]}
//
// and one for each choice that a tuner made by measuring:
//
//	{"tuned":"example.com/k/transpose","at":[4096],"device":"NVIDIA H200, 132 units","target":"ptx:sm_90","of":["{Tile:16}","{Tile:32}"],"best":"{Tile:32}"}
//
// A program adds lines at the end, by a [Writer]; the next one, and [Update], sort them. Empty
// lines and lines that begin with # are for people.
package record
