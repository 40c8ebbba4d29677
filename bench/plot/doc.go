// Command plot draws the figures that bench/README.md and README.md show, of the recorded results
// in bench/results:
//
//	go run .      # in this folder: writes bench/results/*.svg
//	go test .     # are they those of the results?
//
// A file of results is a table with tabs. Its comments say on what device and how it was measured,
// its first line names the columns, and "-" is no number. A chart is a row of [charts]: bars, or
// dots on a logarithmic axis, which a line joins where a series has a least and a most.
//
// The folder is a module of its own: drawing takes ten modules that nobody who computes with Kiln
// should download.
package main
