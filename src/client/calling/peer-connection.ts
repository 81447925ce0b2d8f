/** What a call needs of a browser: given in, so that a call runs without one. `RTCPeerConnection` and `navigator.mediaDevices` fit. */

export type PeerConnection = Pick<
  RTCPeerConnection,
  | 'addEventListener'
  | 'addIceCandidate'
  | 'addTransceiver'
  | 'close'
  | 'connectionState'
  | 'getStats'
  | 'getTransceivers'
  | 'localDescription'
  | 'remoteDescription'
  | 'restartIce'
  | 'setConfiguration'
  | 'setLocalDescription'
  | 'setRemoteDescription'
  | 'signalingState'
>;

/** Makes a peer connection: `(configuration) => new RTCPeerConnection(configuration)` in a browser. */
export type PeerConnectionFactory = (configuration: RTCConfiguration) => PeerConnection;

export type MediaSource = Pick<MediaDevices, 'enumerateDevices' | 'getDisplayMedia' | 'getUserMedia'>;
