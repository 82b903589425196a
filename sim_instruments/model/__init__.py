"""What a simulated instrument is and does, whatever the wire: messages in, replies and states out."""
