// Package rehearse has a model take steps of all kinds that the commands take with one, with no
// regard to results, so that a record (KILN_RECORD) has the kernels that it uses. Devices for that run
// nothing: see runtime.RecordDevices.
//
//	err := rehearse.Text(path, models.Options{Device: d}, rehearse.Work{Sequences: 64, Chunk: 512})
package rehearse
