// Package plainjson reads JSON of the plain form that encoding/json writes for structs of
// strings, numbers and truth values, in a fifth of the time: for the few kinds of text of
// which a program reads hundreds before it runs its first kernel. What is not of that form
// it does not read, and encoding/json has to.
package plainjson
