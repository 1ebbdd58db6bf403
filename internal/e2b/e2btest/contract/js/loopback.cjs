// Loaded before anything else: a connection to anywhere but loopback ends the run.
const net = require('node:net')
const connect = net.Socket.prototype.connect
net.Socket.prototype.connect = function (...args) {
  const [given] = Array.isArray(args[0]) ? args[0] : args
  const host = typeof given === 'object' ? given.host : args[1]
  if (given?.path === undefined && !['127.0.0.1', '::1', 'localhost', undefined].includes(host)) {
    console.error(`not loopback: ${host}`)
    process.exit(97)
  }
  return connect.apply(this, args)
}
