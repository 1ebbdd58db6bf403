// Package childprocess starts programs that the user's own configuration names, so that nothing of them outlives their use.
package childprocess
