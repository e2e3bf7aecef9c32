"""The ports made real, one file per technology and store. Of the package only the wiring imports this room.

Only these files know that DynamoDB, S3, Step Functions or Powertools exist, and each knows only its own.
"""
